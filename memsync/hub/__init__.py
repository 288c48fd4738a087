"""The hub: one recall over the memories of many repositories, in PostgreSQL, derived from their default branches."""
