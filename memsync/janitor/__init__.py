"""What tidies the stores now and then: merges copies, archives what faded, reviews what dedup rejected."""
