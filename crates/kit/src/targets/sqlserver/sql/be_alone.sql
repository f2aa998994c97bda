-- about: a lock of the server's keeps a second hopcost out; 0 or more is ours
-- from: 2012
-- spoken: Babelfish 4.3
DECLARE @got int;
EXEC @got = sp_getapplock @Resource = 'hopcost', @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = 5000;
SELECT @got
