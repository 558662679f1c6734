#!/usr/bin/env bash
# Two readers of keyed archives take the text "$null" for nil wherever it stands.
#
# In a keyed archive, nil is a reference to object 0, which is the text "$null". A dictionary may also have a key that is
# this text: another object, with another number. Expected: both readers give the key "$null". Seen, with
# NSKeyedUnArchiver 1.5.2: the key is None; with nska_deserialize 1.5.1: it is the text "None". Other keys that begin with
# a dollar sign, such as "$top", come back as they were. So a writer that wants such a key to survive must spell it in
# another way.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder" \
  NSKeyedUnArchiver==1.5.2 nska_deserialize==1.5.1
PYTHONPATH=$folder python3 - <<'PYTHON'
import plistlib
from plistlib import UID

import NSKeyedUnArchiver
import nska_deserialize


def archive(key):
    dictionary = {"NS.keys": [UID(2)], "NS.objects": [UID(3)], "$class": UID(4)}
    of_dictionary = {"$classname": "NSDictionary", "$classes": ["NSDictionary", "NSObject"]}
    return plistlib.dumps(
        {
            "$archiver": "NSKeyedArchiver",
            "$version": 100000,
            "$top": {"root": UID(1)},
            "$objects": ["$null", dictionary, key, "value", of_dictionary],
        },
        fmt=plistlib.FMT_BINARY,
    )


readers = [NSKeyedUnArchiver.unserializeNSKeyedArchiver, nska_deserialize.deserialize_plist_from_string]
for key, expected in [("$top", ["$top", "$top"]), ("$null", [None, "None"])]:
    keys = [list(reader(archive(key)))[0] for reader in readers]
    assert keys == expected, (key, keys)
PYTHON
echo 'ok: NSKeyedUnArchiver 1.5.2 reads the key "$null" as None, nska_deserialize 1.5.1 as "None"'
