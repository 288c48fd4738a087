"""The tables of state.db, and what one state.db takes over from another, as SQL."""

from __future__ import annotations

from typing import Final

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS usage (
    id TEXT PRIMARY KEY, access_count INTEGER NOT NULL DEFAULT 0, last_accessed_at TEXT);
CREATE TABLE IF NOT EXISTS known (id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS screened (
    rules TEXT NOT NULL, flaw TEXT NOT NULL, marks BLOB NOT NULL, PRIMARY KEY (rules, flaw));
CREATE TABLE IF NOT EXISTS session_memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, memory_id TEXT NOT NULL,
    action TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE (session_id, memory_id, action));
CREATE TABLE IF NOT EXISTS workflow_state (
    session_id TEXT PRIMARY KEY, variables TEXT NOT NULL, updated_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS idx_session_memories_session ON session_memories (session_id);
CREATE INDEX IF NOT EXISTS idx_session_memories_memory ON session_memories (memory_id);
CREATE TABLE IF NOT EXISTS dedup_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, new_text TEXT NOT NULL,
    existing_id TEXT NOT NULL, existing_text TEXT NOT NULL, similarity REAL, decision TEXT NOT NULL,
    reasoning TEXT NOT NULL, review_status TEXT NOT NULL DEFAULT 'unreviewed', owner TEXT, rejected BLOB);
CREATE INDEX IF NOT EXISTS idx_dedup_log_status ON dedup_log (review_status, decision);
CREATE TABLE IF NOT EXISTS skill_outcomes (
    id TEXT PRIMARY KEY, successes INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS llm_spent (day TEXT PRIMARY KEY, tokens INTEGER NOT NULL);
"""

# What one state takes over from another that is attached as `other`: all of it, or of some ids.
ABSORB_USE: Final = (
    """INSERT INTO main.usage SELECT * FROM other.usage
    WHERE :ids IS NULL OR id IN (SELECT value FROM json_each(:ids))
    ON CONFLICT (id) DO UPDATE SET access_count = max(access_count, excluded.access_count),
    last_accessed_at = max(last_accessed_at, excluded.last_accessed_at)""",
    """INSERT INTO main.skill_outcomes SELECT * FROM other.skill_outcomes
    WHERE :ids IS NULL OR id IN (SELECT value FROM json_each(:ids))
    ON CONFLICT (id) DO UPDATE SET successes = max(successes, excluded.successes),
    failures = max(failures, excluded.failures)""",
    """INSERT OR REPLACE INTO main.known (id, fingerprint) SELECT id, fingerprint FROM other.known
    WHERE :ids IS NULL OR id IN (SELECT value FROM json_each(:ids))""",
    """INSERT OR IGNORE INTO main.session_memories (session_id, memory_id, action, created_at)
    SELECT session_id, memory_id, action, created_at FROM other.session_memories
    WHERE :ids IS NULL OR memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY id""",
)
ABSORB_REST: Final = (
    "INSERT OR IGNORE INTO main.screened SELECT * FROM other.screened",
    """INSERT INTO main.workflow_state SELECT * FROM other.workflow_state WHERE true
    ON CONFLICT (session_id) DO UPDATE SET variables = excluded.variables, updated_at = excluded.updated_at
    WHERE excluded.updated_at > updated_at""",
    """INSERT INTO main.dedup_log
    (created_at, new_text, existing_id, existing_text, similarity, decision, reasoning, owner, rejected, review_status)
    SELECT created_at, new_text, existing_id, existing_text, similarity, decision, reasoning, owner, rejected,
    review_status FROM other.dedup_log WHERE (created_at, new_text, existing_id, decision)
    NOT IN (SELECT created_at, new_text, existing_id, decision FROM main.dedup_log) ORDER BY id""",
)
HAND_BACK: Final = (
    """UPDATE main.dedup_log SET review_status = o.review_status FROM other.dedup_log o
    WHERE o.review_status != 'unreviewed' AND (o.created_at, o.new_text, o.existing_id, o.decision)
    = (dedup_log.created_at, dedup_log.new_text, dedup_log.existing_id, dedup_log.decision)""",
    """DELETE FROM other.dedup_log WHERE (created_at, new_text, existing_id, decision)
    IN (SELECT created_at, new_text, existing_id, decision FROM main.dedup_log)""",
)

# What is taken out with memories that are purged: their use, and each decision or session that has a text of theirs.
PURGE: Final = (
    "DELETE FROM usage WHERE id IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM known WHERE id IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM session_memories WHERE memory_id IN (SELECT value FROM json_each(:ids))",
    """DELETE FROM dedup_log WHERE existing_id IN (SELECT value FROM json_each(:ids))
    OR new_text IN (SELECT value FROM json_each(:texts)) OR existing_text IN (SELECT value FROM json_each(:texts))
    OR EXISTS (SELECT 1 FROM json_each(:ids) WHERE instr(rejected, CAST(value AS BLOB)))""",
    "DELETE FROM workflow_state WHERE EXISTS (SELECT 1 FROM json_each(:texts) WHERE instr(variables, value))",
)
