"""How well recall and dedup do on judged questions and labelled pairs."""
