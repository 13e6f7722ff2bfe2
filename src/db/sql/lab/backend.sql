-- Which of the server's processes serves this session.
SELECT pg_backend_pid() AS pid
