"""What was spent, what calls in flight may cost, and the limits: one data base, and the only home of SQL."""
