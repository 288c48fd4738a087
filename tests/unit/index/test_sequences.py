"""The same words in another order: the same fact with a phrase moved, or another sequence of steps, or other owners."""

from __future__ import annotations

import pytest

from memsync.index.dedup import MERGED, decide

OTHER_FACTS = """
The nightly job copies orders, then invoices, then refunds into the warehouse bucket | Into the warehouse bucket the nightly job copies invoices, then orders, then refunds
On a new host the script installs docker, then the agent, then the proxy | The script installs the agent, then docker, then the proxy on a new host
In the release pipeline lint runs first, then types, then tests | First types, then lint, then tests run in the release pipeline
Each evening the importer reads users, then teams, and finally permissions from the directory | From the directory the importer reads teams, then users, and finally permissions each evening
On staging the operator drains the node before the upgrade of the kernel | The operator upgrades the kernel before the drain of the node on staging
The cache is warmed after the deploy and the alerts are muted before the deploy on production | On production the alerts are muted after the deploy and the cache is warmed before the deploy
The api team owns the schema and the data team owns the loader in the monorepo | In the monorepo the data team owns the schema and the api team owns the loader
In the cluster the blue pool runs workers and the green pool runs databases | The green pool runs workers and the blue pool runs databases in the cluster
For the nightly build the linux runner builds wheels and the mac runner builds installers | The mac runner builds wheels and the linux runner builds installers for the nightly build
When the import runs, alpha calls beta through the message queue | Through the message queue beta calls alpha when the import runs
During an incident Mara pages Otto through the bridge channel | Through the bridge channel Otto pages Mara during an incident
For each invoice the ledger locks the archive during the monthly close | During the monthly close the archive locks the ledger for each invoice
Nachts kopiert der Dienst Bestellungen, dann Rechnungen, dann Mahnungen in das Archiv | In das Archiv kopiert der Dienst nachts Rechnungen, dann Bestellungen, dann Mahnungen
Auf neuen Rechnern installiert das Skript Docker, danach den Agenten, danach den Proxy | Das Skript installiert den Agenten, danach Docker, danach den Proxy auf neuen Rechnern
Im Cluster verwaltet Team Nord die Tabellen und Team Süd verwaltet die Warteschlangen | Team Süd verwaltet die Tabellen und Team Nord verwaltet die Warteschlangen im Cluster
Chaque nuit le service copie les commandes, puis les factures, puis les avoirs vers le dépôt | Vers le dépôt le service copie les factures, puis les commandes, puis les avoirs chaque nuit
Sur un hôte neuf le script installe docker, ensuite le proxy, ensuite la sonde | Le script installe le proxy, ensuite docker, ensuite la sonde sur un hôte neuf
Dans le dépôt commun Alice valide les schémas et Bruno valide les scripts | Bruno valide les schémas et Alice valide les scripts dans le dépôt commun
Cada noche el servicio copia pedidos, luego facturas, luego abonos al almacén | Al almacén el servicio copia facturas, luego pedidos, luego abonos cada noche
En el repositorio Ana revisa los esquemas y Bruno revisa los informes | Bruno revisa los esquemas y Ana revisa los informes en el repositorio
When a build fails, alice reviews the patch of bob in the release channel | In the release channel bob reviews the patch of alice when a build fails
First run the migrations, then restart the workers in the cluster | In the cluster, first restart the workers, then run the migrations
The worker takes the account lock before the order lock in the ledger | In the ledger the worker takes the order lock before the account lock
The exporter reads from Kafka and writes to Postgres every ten minutes | Every ten minutes the exporter reads from Postgres and writes to Kafka
After the deploy, run the smoke tests in the staging cluster | Run the deploy in the staging cluster after the smoke tests
Before the backup the service flushes the queue to disk at night | At night the service runs the backup before it flushes the queue to disk
On Linux the agent uses inotify and on macOS it uses polling | On macOS the agent uses inotify and on Linux it uses polling
The gateway calls the billing service, which calls the ledger in production | In production the billing service calls the gateway, which calls the ledger
Ann approves releases and Bob approves hotfixes in the platform team | In the platform team Bob approves releases and Ann approves hotfixes
If the cache is cold, the service warms the index before serving requests | The service serves requests before warming the index if the cache is cold
Staging has port 8080 and production has port 9090 in the new cluster | In the new cluster production has port 8080 and staging has port 9090
Redis in staging with cluster mode and Postgres in production with replicas | Redis in production with cluster mode and Postgres in staging with replicas
The suite runs only in the nightly pipeline on Linux machines | The suite runs only on Linux machines in the nightly pipeline
On Linux, the agent uses inotify, on macOS, the agent uses polling | On macOS, the agent uses inotify, on Linux, the agent uses polling
If the disk is full, delete logs. If the disk is slow, alert the owner | If the disk is slow, delete logs. If the disk is full, alert the owner
""".strip().splitlines()

SAME_FACTS = """
The nightly job copies orders, then invoices, then refunds into the warehouse bucket | Into the warehouse bucket the nightly job copies orders, then invoices, then refunds
On a new host the script installs docker, then the agent, then the proxy | The script installs docker, then the agent, then the proxy on a new host
In the release pipeline lint runs first, then types, then tests | Lint runs first, then types, then tests in the release pipeline
On staging the operator drains the node before the upgrade of the kernel | The operator drains the node before the upgrade of the kernel on staging
The cache is warmed after the deploy and the alerts are muted before the deploy on production | On production the cache is warmed after the deploy and the alerts are muted before the deploy
The api team owns the schema and the data team owns the loader in the monorepo | In the monorepo the api team owns the schema and the data team owns the loader
For the nightly build the linux runner builds wheels and the mac runner builds installers | The linux runner builds wheels and the mac runner builds installers for the nightly build
When the import runs, alpha calls beta through the message queue | Alpha calls beta through the message queue when the import runs
If the import stalls for an hour, then restart the loader on the edge host | Restart the loader on the edge host if the import stalls for an hour
Im Cluster verwaltet Team Nord die Tabellen und Team Süd verwaltet die Warteschlangen | Team Nord verwaltet die Tabellen und Team Süd verwaltet die Warteschlangen im Cluster
Dans le dépôt commun Alice valide les schémas et Bruno valide les scripts | Alice valide les schémas et Bruno valide les scripts dans le dépôt commun
Each evening the importer reads users, then teams, and finally permissions from the directory | From the directory the importer reads users, then teams, and finally permissions each evening
For each invoice the ledger locks the archive during the monthly close | During the monthly close the ledger locks the archive for each invoice
Auf neuen Rechnern installiert das Skript Docker, danach den Agenten, danach den Proxy | Das Skript installiert Docker, danach den Agenten, danach den Proxy auf neuen Rechnern
Chaque nuit le service copie les commandes, puis les factures, puis les avoirs vers le dépôt | Vers le dépôt le service copie les commandes, puis les factures, puis les avoirs chaque nuit
Sur un hôte neuf le script installe docker, ensuite le proxy, ensuite la sonde | Le script installe docker, ensuite le proxy, ensuite la sonde sur un hôte neuf
Cada noche el servicio copia pedidos, luego facturas, luego abonos al almacén | Al almacén el servicio copia pedidos, luego facturas, luego abonos cada noche
En el repositorio Ana revisa los esquemas y Bruno revisa los informes | Ana revisa los esquemas y Bruno revisa los informes en el repositorio
The api team deploys the billing service on Tuesdays after the standup | After the standup, the api team deploys the billing service on Tuesdays
The nightly job exports invoices to the warehouse bucket at 03:00 | At 03:00 the nightly job exports invoices to the warehouse bucket
In the staging cluster we run three replicas of the search service | We run three replicas of the search service in the staging cluster
Use uv instead of pip for installing packages in this repository | In this repository, use uv instead of pip for installing packages
For large uploads the client splits files into parts of 8 MB | The client splits files into parts of 8 MB for large uploads
Before a release, run the migration tests against a copy of production | Run the migration tests against a copy of production before a release
Since version 3 the parser rejects duplicate keys in the settings file | The parser rejects duplicate keys in the settings file since version 3
On Windows the watcher polls the directory every two seconds | The watcher polls the directory every two seconds on Windows
The frontend talks to the gateway over GraphQL with persisted queries | With persisted queries, the frontend talks to the gateway over GraphQL
When the cache is cold, the first request takes about nine seconds | The first request takes about nine seconds when the cache is cold
If the token has expired, the client asks the auth service for another one | The client asks the auth service for another one if the token has expired
During the night the backup server copies snapshots to the vault in Oslo | The backup server copies snapshots to the vault in Oslo during the night
By default, the linter ignores generated files under the build folder | The linter ignores generated files under the build folder by default
The exporter sends invoices to S3 and orders to GCS at 03:00 | At 03:00 the exporter sends invoices to S3 and orders to GCS
Never drop a table in the loader tests; use the scratch schema. Dropping `audit.rows` leaves `audit.keys` behind, and then the checks fail at random | In the loader tests use the scratch schema and never drop a table: dropping `audit.rows` leaves `audit.keys` behind, and then the checks fail at random
""".strip().splitlines()

NOT_SEEN = """
In the cluster the blue pool runs workers and the green pool runs databases | The green pool runs databases and the blue pool runs workers in the cluster
Nachts kopiert der Dienst Bestellungen, dann Rechnungen, dann Mahnungen in das Archiv | In das Archiv kopiert der Dienst nachts Bestellungen, dann Rechnungen, dann Mahnungen
Feature flags live in the config service and not in the database | Not in the database, but in the config service live the feature flags
""".strip().splitlines()  # the same facts too, but dedup does not see it yet, and stores both


@pytest.mark.parametrize("pair", OTHER_FACTS)
@pytest.mark.parametrize("turned", [False, True])
def test_another_order_of_steps_or_other_owners_are_another_fact(pair, turned):
    old, new = pair.split(" | ")[:: -1 if turned else 1]
    assert decide(new, old, 1.0).decision not in MERGED


@pytest.mark.parametrize("pair", SAME_FACTS)
@pytest.mark.parametrize("turned", [False, True])
def test_a_phrase_that_moved_leaves_the_fact_the_same(pair, turned):
    old, new = pair.split(" | ")[:: -1 if turned else 1]
    assert decide(new, old, 1.0).decision in MERGED


@pytest.mark.parametrize("pair", NOT_SEEN)
def test_a_moved_phrase_that_is_not_seen_loses_nothing(pair):
    old, new = pair.split(" | ")
    assert decide(new, old, 1.0).decision not in MERGED


@pytest.mark.parametrize("pair", OTHER_FACTS)
def test_both_orders_are_remembered(project, pair):
    assert [project.remember(text).status for text in pair.split(" | ")] == ["created", "created"]
