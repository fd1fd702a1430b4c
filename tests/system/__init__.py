"""Tests of whole deployments under faults (`make soak`, `make cluster-test`), races of writes, and the programs they start."""
