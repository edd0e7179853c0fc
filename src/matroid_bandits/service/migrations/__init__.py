"""Steps from each version of the tables to the next, in the order of their names, run by Alembic."""
