-- about: room for tables in memory
-- from: 2014
ALTER DATABASE hopcost ADD FILEGROUP hopcost_memory CONTAINS MEMORY_OPTIMIZED_DATA;
DECLARE @add nvarchar(600) = N'ALTER DATABASE hopcost ADD FILE (NAME = N''hopcost_memory'', FILENAME = N'''
    + CAST(SERVERPROPERTY('InstanceDefaultDataPath') AS nvarchar(400)) + N'hopcost_memory'') TO FILEGROUP hopcost_memory';
EXEC (@add)
