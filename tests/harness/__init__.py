"""What the tests of the real engine and the real node stand on.

One cluster, named `test`, serves both tiers: the driver starts it for the session and takes it down with all its
state. Node tests use its one real node. Engine tests ask for `ground.placement`, which sends their pods to kwok's node
beside it (a taint keeps all others away): pods there cost nothing and are Ready at once, while the API server, the
controllers, the scheduler and the volume binder are the real ones. Claims there bind to ready-made volumes.

`SANDBOX_TEST_CLUSTER=NAME` uses a running cluster of that name and leaves it running: for work on the tests.
"""
