"""What reads like an order to an agent rather than something to know: the rules, as data, and how they are applied."""
