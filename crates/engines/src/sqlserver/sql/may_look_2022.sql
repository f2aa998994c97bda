-- about: may this login read the server's own views?
-- from: 2022
SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE')
