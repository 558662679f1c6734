#!/usr/bin/env bash
# ZODB stores the second of two equal times of day, in the night when clocks go back, as the first.
#
# Since Python 3.6, a datetime's `fold` tells the two apart. Expected: a datetime with a time zone of dateutil comes
# back from ZODB as the same instant. Seen, with ZODB 6.4 and dateutil 2.9.0: half past one with fold=1 comes back with
# fold=0, one hour earlier, without an error. Python writes fold into a pickle of protocol 4 or later only, and leaves
# it out of earlier ones; ZODB writes protocol 3. In the connection that stored it, the object in the cache still has
# fold, so the loss shows in other processes, or later. The times around that hour are right, and so is a datetime in
# UTC.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder/packages" \
  ZODB==6.4 python-dateutil==2.9.0.post0
cd "$folder"
PYTHONPATH=packages python3 - <<'PYTHON'
from datetime import datetime, timedelta, timezone

import ZODB
from dateutil import zoneinfo

new_york = zoneinfo.get_zonefile_instance().get("America/New_York")
# Clocks went from 02:00 back to 01:00 at 06:00 UTC.
instants = [datetime(2026, 11, 1, hour, 30, tzinfo=timezone.utc) for hour in range(4, 9)]

database = ZODB.DB("Data.fs")
with database.transaction() as connection:
    connection.root.local = [instant.astimezone(new_york) for instant in instants]
    connection.root.utc = instants
    assert [time.astimezone(timezone.utc) for time in connection.root.local] == instants
database.close()

database = ZODB.DB("Data.fs")
with database.transaction() as connection:
    assert connection.root.utc == instants
    differences = [time.astimezone(timezone.utc) - instant for time, instant in zip(connection.root.local, instants)]
database.close()
expected = [timedelta(0)] * 2 + [timedelta(hours=-1)] + [timedelta(0)] * 2
assert differences == expected, differences
PYTHON
echo 'ok: with ZODB 6.4, 01:30 in New York after clocks went back, 06:30 UTC, comes back as 01:30 before, 05:30 UTC'
