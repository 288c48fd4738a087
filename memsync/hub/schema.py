"""The tables of a hub, as steps that are done once each and all in one transaction. Everything here can be made again.

What a principal may read is held twice: each query names its repositories, and row-level security holds it for whoever
forgets to. The role READER owns nothing, so no rule is waived for it.
"""

from __future__ import annotations

from typing import Final

SCHEMA: Final = "memsync_hub"
READER: Final = "memsync_hub_reader"

_FIRST: Final = """
create table meta (key text primary key, value text not null);
create table stats (kind text primary key, live bigint not null, total float8 not null, squares float8 not null);

create table repo (
  id serial primary key, url text not null unique, name text not null,
  branch text not null default '', commit text not null default '', made_by text not null default '',
  state text not null default 'new', note text not null default '', left_out jsonb not null default '{}',
  memories int not null default 0, skills int not null default 0,
  changed_at timestamptz, failures int not null default 0, retry_at timestamptz, gone_at timestamptz, pushed boolean not null default false, added_at timestamptz not null default now()
);

-- A memory or a skill as its line says it, with what the filters look at. `terms` (step five: with
-- their counts) tell what to take back when it goes.
create table record (
  id bigserial primary key, repo int not null references repo on delete cascade,
  kind text not null, name text not null, hash bytea not null,
  line bytea not null, number int not null, commit text not null,
  memory_type text not null, importance real not null, tags text[] not null, written timestamptz,
  length int not null, terms bigint[] not null,
  unique (repo, kind, name)
);
create table posting (term bigint not null, repo int not null, record bigint not null, count smallint not null, length smallint not null);
create table df (term bigint primary key, n int not null);
create table word (id serial primary key, word text not null unique, grams smallint not null);
create table gram (gram bigint not null, word int not null, primary key (gram, word));

create table principal (id serial primary key, name text not null unique, added_at timestamptz not null default now());
create table access (
  principal int not null references principal on delete cascade, repo int not null references repo on delete cascade,
  until timestamptz, source text not null, primary key (principal, repo)
);
create table token (
  id serial primary key, hash bytea not null unique, principal int not null references principal on delete cascade,
  name text not null, scopes text[] not null, made_at timestamptz not null default now(), until timestamptz,
  revoked_at timestamptz, used_at timestamptz
);
create table audit (
  at timestamptz not null default now(), principal text not null, face text not null, action text not null,
  repos int not null default 0, hits int not null default 0, ms real not null default 0
);
create index audit_at on audit (at);

-- Who asks is said per transaction; nobody is asking until it is.
create function readable() returns setof int language sql stable security definer
  set search_path = memsync_hub, pg_temp as $$
  select repo from access
  where principal = nullif(current_setting('memsync.principal', true), '')::int and (until is null or until > now())
$$;
revoke all on function readable() from public;
grant execute on function readable() to memsync_hub_reader;
grant usage on schema memsync_hub to memsync_hub_reader;
alter table repo enable row level security;
alter table record enable row level security;
alter table posting enable row level security;
create policy reading on repo for select to memsync_hub_reader using (id in (select readable()));
create policy reading on record for select to memsync_hub_reader using (repo in (select readable()));
create policy reading on posting for select to memsync_hub_reader using (repo in (select readable()));
grant select on repo, record, posting, stats, df, word, gram, meta to memsync_hub_reader;
"""

# What nobody could answer, in tables that the reader has no right to.
_SECOND: Final = """
create table meta_private (key text primary key, value text not null);
create table question (
  asked bytea not null, asker bytea not null, times int not null default 1, at timestamptz not null default now(),
  primary key (asked, asker)
);
create table question_text (asked bytea primary key, text text not null);
"""

# One call gives all of them: a function that gives row by row is entered anew, with its search_path, for each.
_THIRD: Final = """
create function may_read() returns int[] language sql stable security definer
  set search_path = memsync_hub, pg_temp as $$
  select coalesce(array_agg(repo), '{}') from access
  where principal = nullif(current_setting('memsync.principal', true), '')::int and (until is null or until > now())
$$;
revoke all on function may_read() from public;
grant execute on function may_read() to memsync_hub_reader;
alter policy reading on repo using (id in (select unnest(may_read())));
alter policy reading on record using (repo in (select unnest(may_read())));
alter policy reading on posting using (repo in (select unnest(may_read())));
do $$ begin
  if to_regclass('embedding') is not null then
    alter policy reading on embedding using (repo in (select unnest(may_read())));
  end if;
end $$;
drop function readable();
insert into meta values ('vectors_missing', '1') on conflict (key) do nothing;
"""

# Of each repository, how many it has of a kind, with their lengths in terms and the squares of these added up: a query
# over few repositories adds these up, and need not read their records.
COUNTED: Final = ", ".join(
    f"({many}, {kind}_length, {kind}_squares) = (select count(*), coalesce(sum(length), 0),"
    f" coalesce(sum(length::float8 ^ 2), 0) from record where record.repo = repo.id and kind = '{kind}')"
    for kind, many in (("memory", "memories"), ("skill", "skills"))
)
_FOURTH: Final = f"""
alter table repo add memory_length float8 not null default 0, add memory_squares float8 not null default 0,
  add skill_length float8 not null default 0, add skill_squares float8 not null default 0;
update repo set {COUNTED};
"""

# The terms of a record with their counts, packed (`binary.spell_counts`): a query that ranks it need not read its text.
_FIFTH: Final = """
set local work_mem = '256MB';
alter table record add term_counts bytea not null default '';
update record set term_counts = p.keys || p.counts from (
  select record, string_agg(int8send(term), '' order by term) keys, string_agg(int2send(count), '' order by term) counts
  from posting group by record
) p where p.record = record.id;
alter table record drop column terms, alter column term_counts drop default;
"""

# What texts of the same words have in common, whatever their tags and days (`ingest.prepare`); the next sync, which takes
# all anew, writes it for the rows that are there.
_SIXTH: Final = """
alter table record add said bigint;
update repo set made_by = '';
"""

# Who may push is another question than who may read; when what was pushed last was committed; which repositories a forge
# told of and nobody has synced since, and which of its deliveries were taken.
_SEVENTH: Final = """
alter table access add may_push boolean not null default false;
alter table repo add committed_at timestamptz;
create table due (repo int primary key references repo on delete cascade);
create table delivery (id text primary key, at timestamptz not null default now());
"""

# What copies of one text have in common, such as those of forks: an answer has one of them. Written by the next sync.
_EIGHTH: Final = """
alter table record add text_hash bigint;
update repo set made_by = '';
"""

# Who is in which group, which is a principal itself: what it may read, its members may. What a forge answered, by its ETag.
_NINTH: Final = """
create table member (
  principal int not null references principal on delete cascade, team int not null references principal on delete cascade,
  until timestamptz, source text not null, primary key (principal, team)
);
create or replace function may_read() returns int[] language sql stable security definer
  set search_path = memsync_hub, pg_temp as $$
  with asker as (select nullif(current_setting('memsync.principal', true), '')::int as id)
  select coalesce(array_agg(distinct repo), '{}') from access
  where (until is null or until > now()) and principal in (
    select id from asker union all select m.team from member m join asker on m.principal = asker.id
    where m.until is null or m.until > now()
  )
$$;
create table forge_answer (url text primary key, etag text not null, rows jsonb not null, next text);
"""

# Who has signed in by a provider is known by its subject; since when what it has signed counts, and of when its groups are.
# A token of a browser, which may make others.
_TENTH: Final = """
alter table principal add subject text unique, add signed_out_at timestamptz, add told_at timestamptz;
alter table token add is_session boolean not null default false;
"""

# What is on hold stays as it is; what somebody deleted does not come in again.
_ELEVENTH: Final = """
alter table repo add held_at timestamptz;
create table deleted (
  repo int not null references repo on delete cascade, kind text not null, name text not null,
  at timestamptz not null default now(), primary key (repo, kind, name)
);
"""

# Since when a repository is due.
_TWELFTH: Final = "alter table due add at timestamptz not null default now();"

STEPS: Final = (
    _FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH, _SEVENTH, _EIGHTH, _NINTH, _TENTH, _ELEVENTH, _TWELFTH
)  # fmt: skip

VECTORS: Final = """
create table embedding (record bigint primary key references record on delete cascade, repo int not null, scale real not null, numbers halfvec({dim}) not null);
alter table embedding alter column numbers set storage plain;
alter table embedding enable row level security;
create policy reading on embedding for select to memsync_hub_reader using (repo in (select unnest(may_read())));
grant select on embedding to memsync_hub_reader;
insert into meta values ('vectors_missing', '1') on conflict (key) do nothing;
"""

# What a first load leaves out, because an index that is built at the end is built in a fraction of the time.
INDEXES: Final = {
    "record_text": "create index if not exists record_text on record (text_hash)",
    "posting_term": "create index if not exists posting_term on posting (term, repo) include (record, count, length)",
    "embedding_repo": "create index if not exists embedding_repo on embedding (repo)",
    "embedding_near": "create index if not exists embedding_near on embedding using hnsw (numbers halfvec_cosine_ops)",
}
