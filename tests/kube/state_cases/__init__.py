"""A hundred sets of API objects and what each of them means, by theme."""
