"""UTKFace: aligned and cropped faces with age, gender and ethnicity.

Source: Z. Zhang, Y. Song, H. Qi (2017), University of Tennessee, https://susanqq.github.io/UTKFace/. Non-commercial
research use only; the copyright of the pictures stays with their owners.

Known harms: pictures were collected from the web without the consent of those shown; gender and ethnicity were
guessed by a classifier and checked by people, in two and five categories that no person was asked about. Guessing
gender from faces harms people; the data serves to show how unevenly it fails.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.datasets.fetching import fetch

SUBSET = "utkface/utkface_50x50_subset.npz"
SUBSET_SHA256 = "eaaccdb4e9238a461b0a2f8f498c723dfbb23a40a0bba19b3e5ee32483c8daa2"
ETHNICITIES = ("White", "Black", "Asian", "Indian", "Others")
HOW = (
    "it holds at most 700 faces for each gender and ethnicity of the publisher's folder crop_part1, reduced to "
    "50 x 50 pixels; ask the publisher for the pictures"
)


class Faces(NamedTuple):
    """Pictures (n, 3, 50, 50) as bytes, gender (n,) 0 male and 1 female, ethnicity (n,) by its place in
    `ETHNICITIES`, age (n,).
    """

    images: NDArray[np.uint8]
    gender: NDArray[np.uint8]
    ethnicity: NDArray[np.uint8]
    age: NDArray[np.uint8]


def load_utkface() -> Faces:
    """Return 5,497 faces of UTKFace.

    Raises
    ------
    DatasetError
        If the file is absent or has another checksum; the publisher asks for consent, so that it cannot be fetched.
    """
    with np.load(fetch(SUBSET, SUBSET_SHA256, None, HOW)) as file:
        return Faces(file["images"], file["gender"], file["race"], file["age"])
