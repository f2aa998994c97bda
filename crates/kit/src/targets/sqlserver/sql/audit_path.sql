-- about: the directory where the server may write
-- from: 2012
SELECT CAST(SERVERPROPERTY('InstanceDefaultLogPath') AS nvarchar(4000))
