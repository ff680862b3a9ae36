"""State files as evenhand 0.1 wrote them: every array an .npy member of the archive."""

import io
import json
import zipfile

import numpy as np

from evenhand.saving.state import _encode


def to_bytes(policy):
    arrays = []
    body = {"format": 1, "object": _encode(policy, arrays, "policy")}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("evenhand.json", json.dumps(body))
        for number, array in enumerate(arrays):
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            archive.writestr(f"{number}.npy", member.getvalue())
    return buffer.getvalue()
