"""HEPAR II: a Bayesian network of liver disorders, 70 nodes and 123 arrows.

Built by A. Onisko with physicians ("Probabilistic Causal Models in Medicine: Application to Diagnosis of Liver
Disorders", PhD thesis, Polish Academy of Sciences, 2003) from records of 699 patients of the Gastroenterological
Clinic in Warsaw. The BIF file is that of the bnlearn Bayesian network repository, published under CC BY-SA 3.0.

Known harms: the numbers describe patients of one clinic of the 1990s who were referred with a suspected disorder,
most of them women; they say nothing about other people, and they are no basis for treatment. `sex` and `age` are
roots of the network; what they cause in it is the builders' judgement.
"""

from __future__ import annotations

from pathlib import Path

from evenhand.datasets.fetching import fetch

SHA256 = "f98d4a65c496b79d76b15797e6a6cbeafaff32a17d66a844d8e5b9506d379fcd"
URL = "https://www.bnlearn.com/bnrepository/hepar2/hepar2.bif.gz"


def fetch_hepar2() -> Path:
    """Return the path of the BIF file, for `CausalModel.from_bif`.

    Raises
    ------
    DatasetError
        If the file is absent and cannot be fetched, or has another checksum.
    """
    return fetch("hepar2/hepar2.bif.gz", SHA256, URL)
