"""The same words in another order: the same fact with a phrase moved, or another sequence of steps, or other owners."""

from __future__ import annotations

import pytest

from memsync.dedup import MERGED, decide
from memsync.dedup.likeness import is_reordered
from memsync.dedup.reading import read

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
Never drop a table in the loader tests; use the scratch schema. Dropping `audit.rows` leaves `audit.keys` behind, and then the checks fail at random | In the loader tests use the scratch schema and never drop a table: dropping `audit.rows` leaves `audit.keys` behind, and then the checks fail at random
Im Cluster verwaltet Team Nord die Tabellen und Team Süd verwaltet die Warteschlangen | Team Nord verwaltet die Tabellen und Team Süd verwaltet die Warteschlangen im Cluster
Dans le dépôt commun Alice valide les schémas et Bruno valide les scripts | Alice valide les schémas et Bruno valide les scripts dans le dépôt commun
""".strip().splitlines()

NOT_SEEN = """
Each evening the importer reads users, then teams, and finally permissions from the directory | From the directory the importer reads users, then teams, and finally permissions each evening
In the cluster the blue pool runs workers and the green pool runs databases | The green pool runs databases and the blue pool runs workers in the cluster
For each invoice the ledger locks the archive during the monthly close | During the monthly close the ledger locks the archive for each invoice
Nachts kopiert der Dienst Bestellungen, dann Rechnungen, dann Mahnungen in das Archiv | In das Archiv kopiert der Dienst nachts Bestellungen, dann Rechnungen, dann Mahnungen
Auf neuen Rechnern installiert das Skript Docker, danach den Agenten, danach den Proxy | Das Skript installiert Docker, danach den Agenten, danach den Proxy auf neuen Rechnern
Chaque nuit le service copie les commandes, puis les factures, puis les avoirs vers le dépôt | Vers le dépôt le service copie les commandes, puis les factures, puis les avoirs chaque nuit
Sur un hôte neuf le script installe docker, ensuite le proxy, ensuite la sonde | Le script installe docker, ensuite le proxy, ensuite la sonde sur un hôte neuf
Cada noche el servicio copia pedidos, luego facturas, luego abonos al almacén | Al almacén el servicio copia pedidos, luego facturas, luego abonos cada noche
En el repositorio Ana revisa los esquemas y Bruno revisa los informes | Ana revisa los esquemas y Bruno revisa los informes en el repositorio
""".strip().splitlines()  # the same facts too, but dedup does not see it yet, and stores both


@pytest.mark.parametrize("pair", OTHER_FACTS)
@pytest.mark.parametrize("turned", [False, True])
def test_another_order_of_steps_or_other_owners_are_another_fact(pair, turned):
    old, new = pair.split(" | ")[:: -1 if turned else 1]
    assert decide(new, old, 1.0).decision not in MERGED


@pytest.mark.parametrize("pair", SAME_FACTS)
@pytest.mark.parametrize("turned", [False, True])
def test_a_phrase_that_moved_leaves_the_fact_the_same(pair, turned):
    one, other = map(read, pair.split(" | ")[:: -1 if turned else 1])
    assert is_reordered(one, other)


@pytest.mark.parametrize("pair", NOT_SEEN)
def test_a_moved_phrase_that_is_not_seen_loses_nothing(pair):
    old, new = pair.split(" | ")
    assert not is_reordered(read(old), read(new))


@pytest.mark.parametrize("pair", OTHER_FACTS)
def test_both_orders_are_remembered(project, pair):
    assert [project.remember(text).status for text in pair.split(" | ")] == ["created", "created"]
