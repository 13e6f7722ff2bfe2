-- Removes the lab's schema with everything in it.
DROP SCHEMA IF EXISTS {schema} CASCADE
