-- Which rights the role has, of those asked for.
-- $1 text the schema's name, in pairs: $2 text[] tables, $3 text[] privileges.
-- One row a pair, in their order; `granted` is NULL where the table is missing. A right on some columns counts: the
-- roles that come with this program have no more than the columns that it writes. Only catalogs are read, so that a role
-- without any right gets an answer too.
SELECT n.name AS table_name, n.privilege,
       has_schema_privilege(s.oid, 'USAGE')
         AND CASE WHEN n.privilege = 'DELETE' THEN has_table_privilege(c.oid, n.privilege)
                  ELSE has_any_column_privilege(c.oid, n.privilege) END AS granted
FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS n(name, privilege, line)
LEFT JOIN pg_namespace s ON s.nspname = $1
LEFT JOIN pg_class c ON c.relnamespace = s.oid AND c.relname = n.name AND c.relkind IN ('r', 'p')
ORDER BY n.line
