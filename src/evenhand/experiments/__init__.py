"""Every paper's figures from one command: settings as data, claims with tolerances, and verdicts on them."""
