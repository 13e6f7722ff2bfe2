-- What does not change while the server runs, and which `doctor` checks.
SELECT current_setting('server_version_num')::integer AS version_num,
       current_setting('server_encoding') AS encoding
