"""A sandbox's revisions, read out of the stack's own history: nothing of it is kept anywhere else."""
