-- about: the directory where the server may write, and what nobody else is called
-- from: 2012
SELECT CAST(SERVERPROPERTY('InstanceDefaultLogPath') AS nvarchar(4000)),
       REPLACE(CONVERT(varchar(36), NEWID()), '-', '')
