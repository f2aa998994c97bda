-- about: a lock keeps a second hopcost out, one for the whole server: it is a database's, and everybody has that one
-- from: 2012
-- spoken: Babelfish 4.3
USE master;
DECLARE @got int;
EXEC @got = sp_getapplock @Resource = 'hopcost', @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = 5000;
SELECT @got
