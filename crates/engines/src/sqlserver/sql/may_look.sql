-- about: may this login read the server's own views?
-- from: 2012
-- until: 2019
SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')
