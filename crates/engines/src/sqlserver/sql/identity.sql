-- about: who answers
-- from: 2012
-- spoken: Babelfish 4.3
SELECT CAST(SERVERPROPERTY('Edition') AS nvarchar(128)), CAST(SERVERPROPERTY('EngineEdition') AS int),
       CAST(SERVERPROPERTY('MachineName') AS nvarchar(128)), CAST(SERVERPROPERTY('ServerName') AS nvarchar(128))
