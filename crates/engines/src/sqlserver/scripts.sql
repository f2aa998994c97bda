-- name: identity
-- about: who answers
-- from: 2012
-- spoken: Babelfish 4.3
SELECT CAST(SERVERPROPERTY('Edition') AS nvarchar(128)), CAST(SERVERPROPERTY('EngineEdition') AS int),
       CAST(SERVERPROPERTY('MachineName') AS nvarchar(128)), CAST(SERVERPROPERTY('ServerName') AS nvarchar(128))

-- name: may_look
-- about: may this login read the server's own views?
-- from: 2012
-- until: 2019
SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')

-- name: may_look_2022
-- about: may this login read the server's own views?
-- from: 2022
SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE')

-- name: be_alone
-- about: a lock keeps a second hopcost out, one for the whole server: it is a database's, and everybody has that one
-- from: 2012
-- spoken: Babelfish 4.3
USE master;
DECLARE @got int;
EXEC @got = sp_getapplock @Resource = 'hopcost', @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = 5000;
SELECT @got

-- name: database_is_there
-- about: is there a database of our name?
-- from: 2012
-- spoken: Babelfish 4.3
SELECT count(*) FROM sys.databases WHERE name = 'hopcost'

-- name: mark_is_there
-- about: was it made by hopcost?
-- from: 2012
-- spoken: Babelfish 4.3
SELECT count(*) FROM hopcost.INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'made_by_hopcost'

-- name: mark
-- about: what hopcost has put there, and what it has to put back
-- from: 2012
-- spoken: Babelfish 4.3
SELECT content FROM hopcost.dbo.made_by_hopcost

-- name: create_database
-- about: a database of our own
-- from: 2012
-- spoken: Babelfish 4.3
CREATE DATABASE hopcost

-- name: recovery
-- about: loads are logged by the page where a table is empty
-- from: 2012
ALTER DATABASE hopcost SET RECOVERY SIMPLE

-- name: create_mark
-- about: the table by which it is known
-- from: 2012
-- spoken: Babelfish 4.3
USE hopcost;
CREATE TABLE made_by_hopcost (content varchar(8000) NOT NULL);
USE master

-- name: memory_filegroup
-- about: room for tables in memory
-- from: 2014
ALTER DATABASE hopcost ADD FILEGROUP hopcost_memory CONTAINS MEMORY_OPTIMIZED_DATA;
DECLARE @add nvarchar(600) = N'ALTER DATABASE hopcost ADD FILE (NAME = N''hopcost_memory'', FILENAME = N'''
    + CAST(SERVERPROPERTY('InstanceDefaultDataPath') AS nvarchar(400)) + N'hopcost_memory'') TO FILEGROUP hopcost_memory';
EXEC (@add)

-- name: columnstore
-- about: what a load goes into; batches of 102,400 rows and more are compressed at once
-- from: 2014
CREATE CLUSTERED COLUMNSTORE INDEX by_column ON {table}

-- name: schedulers
-- about: which CPU each scheduler is on, and whether it is in use
-- from: 2012
SELECT cpu_id, parent_node_id, is_online FROM sys.dm_os_schedulers WHERE scheduler_id < 1048576

-- name: nodes
-- about: nodes of CPUs, the memory node of each, the CPUs on-line
-- from: 2012
SELECT node_id, memory_node_id, cpu_affinity_mask, online_scheduler_count FROM sys.dm_os_nodes WHERE node_id < 64

-- name: memory_nodes
-- about: memory that the server has on each node, and that of it which lies on another
-- from: 2012
SELECT memory_node_id, pages_kb, foreign_committed_kb FROM sys.dm_os_memory_nodes WHERE memory_node_id < 64

-- name: log_writers
-- about: where the threads that write the log run
-- from: 2012
SELECT s.cpu_id FROM sys.dm_exec_requests AS r
JOIN sys.dm_os_schedulers AS s ON s.scheduler_id = r.scheduler_id
WHERE r.command = 'LOG WRITER'

-- name: worker_cpu
-- about: the CPU of the scheduler that this session's requests run on
-- from: 2012
SELECT s.cpu_id FROM sys.dm_exec_requests AS r
JOIN sys.dm_os_schedulers AS s ON s.scheduler_id = r.scheduler_id
WHERE r.session_id = @@SPID

-- name: affinity
-- about: is the server bound to CPUs, and to which?
-- from: 2012
SELECT i.affinity_type_desc, s.cpu_id FROM sys.dm_os_sys_info AS i
CROSS JOIN sys.dm_os_schedulers AS s WHERE s.status = 'VISIBLE ONLINE' ORDER BY s.cpu_id

-- name: set_affinity
-- about: binds the server to CPUs, at once; needs --allow-server-changes
-- from: 2012
ALTER SERVER CONFIGURATION SET PROCESS AFFINITY CPU = {cpus}

-- name: set_affinity_auto
-- about: the server is bound to nothing again
-- from: 2012
ALTER SERVER CONFIGURATION SET PROCESS AFFINITY CPU = AUTO

-- name: audit_place
-- about: the directory where the server may write, and what nobody else is called
-- from: 2012
SELECT CAST(SERVERPROPERTY('InstanceDefaultLogPath') AS nvarchar(4000)),
       REPLACE(CONVERT(varchar(36), NEWID()), '-', '')

-- name: create_audit
-- about: a file to which statements are written some time later; needs --allow-server-changes
-- from: 2016
USE master;
CREATE SERVER AUDIT {name} TO FILE (FILEPATH = N'{path}') WITH (QUEUE_DELAY = 1000, ON_FAILURE = CONTINUE)

-- name: create_audit_specification
-- about: which statements are written there: all of our database
-- from: 2016
USE hopcost;
CREATE DATABASE AUDIT SPECIFICATION {name} FOR SERVER AUDIT {name}
ADD (SELECT, INSERT, UPDATE, DELETE, EXECUTE ON DATABASE::hopcost BY public) WITH (STATE = ON);
USE master

-- name: create_trace
-- about: beginning and end of each call of our database and of each statement in it; needs --allow-server-changes
-- from: 2012
CREATE EVENT SESSION {name} ON SERVER
ADD EVENT sqlserver.rpc_starting
    (ACTION (sqlserver.session_id, sqlserver.sql_text) WHERE (sqlserver.database_name = N'hopcost')),
ADD EVENT sqlserver.sp_statement_starting
    (ACTION (sqlserver.session_id, sqlserver.sql_text) WHERE (sqlserver.database_name = N'hopcost')),
ADD EVENT sqlserver.sp_statement_completed
    (ACTION (sqlserver.session_id, sqlserver.sql_text) WHERE (sqlserver.database_name = N'hopcost')),
ADD EVENT sqlserver.rpc_completed
    (ACTION (sqlserver.session_id, sqlserver.sql_text) WHERE (sqlserver.database_name = N'hopcost'))
ADD TARGET package0.event_file
    (SET filename = N'{path}{name}.xel', max_file_size = 100000, max_rollover_files = 1000)
WITH (EVENT_RETENTION_MODE = NO_EVENT_LOSS, MAX_DISPATCH_LATENCY = 1 SECONDS, MEMORY_PARTITION_MODE = PER_CPU)

-- name: begin_audit
-- about: from here on statements are written to the audit's file
-- from: 2016
USE master;
ALTER SERVER AUDIT {name} WITH (STATE = ON)

-- name: end_audit
-- about: no longer; what is on its way is written
-- from: 2016
USE master;
ALTER SERVER AUDIT {name} WITH (STATE = OFF)

-- name: begin_trace
-- about: from here on events are written to their file
-- from: 2012
ALTER EVENT SESSION {name} ON SERVER STATE = START

-- name: end_trace
-- about: no longer; what is on its way is written
-- from: 2012
ALTER EVENT SESSION {name} ON SERVER STATE = STOP

-- name: audited
-- about: statements in an audit's file by session; a statement has a record for each object, all of one transaction
-- from: 2016
SELECT session_id, COUNT(DISTINCT transaction_id) FROM sys.fn_get_audit_file(N'{file}', DEFAULT, DEFAULT)
WHERE database_name = N'hopcost' AND transaction_id <> 0 GROUP BY session_id

-- name: traced
-- about: calls and statements in a file of events, by session
-- from: 2012
SELECT session_id, SUM(CASE name WHEN N'rpc_completed' THEN 1 ELSE 0 END),
       SUM(CASE name WHEN N'sp_statement_completed' THEN 1 ELSE 0 END)
FROM (SELECT object_name AS name,
             CAST(event_data AS xml).value('(/event/action[@name="session_id"]/value)[1]', 'int') AS session_id
      FROM sys.fn_xe_file_target_read_file(N'{file}', NULL, NULL, NULL)
      WHERE object_name IN (N'rpc_completed', N'sp_statement_completed')) AS events
GROUP BY session_id

-- name: drop_audit
-- about: what was set up to write statements down
-- from: 2016
USE master;
IF EXISTS (SELECT 1 FROM sys.server_audits WHERE name = N'{name}')
BEGIN
    ALTER SERVER AUDIT {name} WITH (STATE = OFF);
    DROP SERVER AUDIT {name};
END

-- name: drop_audit_specification
-- about: what was said of our database's statements
-- from: 2016
USE hopcost;
IF EXISTS (SELECT 1 FROM sys.database_audit_specifications WHERE name = N'{name}')
BEGIN
    ALTER DATABASE AUDIT SPECIFICATION {name} WITH (STATE = OFF);
    DROP DATABASE AUDIT SPECIFICATION {name};
END;
USE master

-- name: drop_trace
-- about: what was set up to write events down
-- from: 2012
IF EXISTS (SELECT 1 FROM sys.server_event_sessions WHERE name = N'{name}') DROP EVENT SESSION {name} ON SERVER

-- name: delete_audits
-- about: the files of the audit
-- from: 2019
EXEC master.sys.xp_delete_files N'{path}{name}*.sqlaudit'

-- name: delete_traces
-- about: the files of events
-- from: 2019
EXEC master.sys.xp_delete_files N'{path}{name}*.xel'

-- name: audit_file
-- about: the file to which the audit writes since it was begun
-- from: 2016
SELECT audit_file_path FROM sys.dm_server_audit_status WHERE name = N'{name}'

-- name: trace_file
-- about: the file to which events are written since that was begun
-- from: 2012
SELECT CAST(t.target_data AS xml).value('(/EventFileTarget/File/@name)[1]', 'nvarchar(4000)')
FROM sys.dm_xe_sessions AS s JOIN sys.dm_xe_session_targets AS t ON t.event_session_address = s.address
WHERE s.name = N'{name}' AND t.target_name = N'event_file'

-- name: writes_down
-- about: how much of what writes statements down is on
-- from: 2012
SELECT (SELECT COUNT(*) FROM sys.dm_server_audit_status WHERE name = N'{name}' AND status = 1)
     + (SELECT COUNT(*) FROM sys.dm_xe_sessions WHERE name = N'{name}')

-- name: begin_sql_trace
-- about: from here on SQL Trace writes calls of our database, and each statement in them, to a file
-- from: 2012
DECLARE @id int, @size bigint = 1000, @on bit = 1, @event int, @column int;
EXEC sys.sp_trace_create @id OUTPUT, 2, N'{path}{name}_{file}', @size;
DECLARE wanted CURSOR LOCAL FAST_FORWARD FOR
    SELECT e.id, c.id FROM (VALUES (10), (11), (44), (45)) AS e (id)
    CROSS JOIN (VALUES (1), (12), (13), (14), (16), (17), (18), (35)) AS c (id);
OPEN wanted;
FETCH NEXT FROM wanted INTO @event, @column;
WHILE @@FETCH_STATUS = 0
BEGIN
    EXEC sys.sp_trace_setevent @id, @event, @column, @on;
    FETCH NEXT FROM wanted INTO @event, @column;
END;
CLOSE wanted;
EXEC sys.sp_trace_setfilter @id, 35, 0, 0, N'hopcost';
EXEC sys.sp_trace_setstatus @id, 1

-- name: end_sql_trace
-- about: SQL Trace no longer does
-- from: 2012
DECLARE @id int;
SELECT @id = id FROM sys.traces WHERE path LIKE N'{path}{name}%';
IF @id IS NOT NULL
BEGIN
    EXEC sys.sp_trace_setstatus @id, 0;
    EXEC sys.sp_trace_setstatus @id, 2;
END

-- name: sql_trace_file
-- about: the file to which SQL Trace writes since that was begun
-- from: 2012
SELECT path FROM sys.traces WHERE path LIKE N'{path}{name}%'

-- name: sql_trace_is_on
-- about: whether SQL Trace writes calls down
-- from: 2012
SELECT COUNT(*) FROM sys.traces WHERE path LIKE N'{path}{name}%'

-- name: sql_traced
-- about: calls and statements in a file of SQL Trace, by session
-- from: 2012
SELECT SPID, SUM(CASE EventClass WHEN 10 THEN 1 ELSE 0 END), SUM(CASE EventClass WHEN 45 THEN 1 ELSE 0 END)
FROM sys.fn_trace_gettable(N'{file}', DEFAULT) WHERE EventClass IN (10, 45) GROUP BY SPID

-- name: delete_sql_traces
-- about: the files of SQL Trace
-- from: 2019
EXEC master.sys.xp_delete_files N'{path}{name}*.trc'

-- name: plan_on
-- about: statements are planned, and not carried out
-- from: 2012
SET SHOWPLAN_XML ON

-- name: plan_off
-- about: statements are carried out again
-- from: 2012
SET SHOWPLAN_XML OFF

-- name: buffer_nodes
-- about: look-ups of pages on the worker's own memory node and on others, since the server was started
-- from: 2012
SELECT RTRIM(instance_name), CASE WHEN counter_name LIKE 'Remote no%' THEN 'remote' ELSE 'local' END, cntr_value
FROM sys.dm_os_performance_counters
WHERE object_name LIKE '%Buffer Node%'
  AND (counter_name LIKE 'Local node page lookups/sec%' OR counter_name LIKE 'Remote no% page lookups/sec%')

-- name: page_homes
-- about: the memory nodes of the pages that hold our data
-- from: 2012
SELECT numa_node, count_big(*) FROM sys.dm_os_buffer_descriptors WHERE database_id = DB_ID('hopcost') GROUP BY numa_node

-- name: buffer_reads
-- about: pages read from disk
-- from: 2012
SELECT cntr_value FROM sys.dm_os_performance_counters
WHERE object_name LIKE '%Buffer Manager%' AND counter_name = 'Page reads/sec'

-- name: log_bytes
-- about: bytes written to our database's log, and how often it was flushed
-- from: 2012
SELECT counter_name, cntr_value FROM sys.dm_os_performance_counters
WHERE object_name LIKE '%:Databases%' AND instance_name = 'hopcost'
  AND counter_name IN ('Log Bytes Flushed/sec', 'Log Flushes/sec')

-- name: waits
-- about: time that sessions have waited, by what for
-- from: 2012
SELECT wait_type, wait_time_ms FROM sys.dm_os_wait_stats
WHERE wait_time_ms > 0 AND wait_type IN (
    'WRITELOG', 'LOGBUFFER', 'LOGMGR_QUEUE', 'CXPACKET', 'CXCONSUMER', 'SOS_SCHEDULER_YIELD', 'PAGEIOLATCH_SH',
    'PAGEIOLATCH_EX', 'PAGELATCH_EX', 'PAGELATCH_SH', 'LCK_M_X', 'LCK_M_S', 'RESOURCE_SEMAPHORE', 'THREADPOOL',
    'ASYNC_NETWORK_IO', 'CMEMTHREAD', 'MEMORY_ALLOCATION_EXT', 'ROWGROUP_VERSION', 'HTBUILD')

-- name: spinlocks
-- about: how often threads met at the log's two locks, and how long they turned in place
-- from: 2012
SELECT name, collisions, spins, backoffs FROM sys.dm_os_spinlock_stats WHERE name IN ('LOGCACHE_ACCESS', 'LOGFLUSHQ')

-- name: end_stragglers
-- about: sessions of a hopcost that is gone
-- from: 2012
-- spoken: Babelfish 4.3
SELECT session_id FROM sys.dm_exec_sessions WHERE program_name = 'hopcost' AND session_id <> @@SPID

-- name: be_single_user
-- about: whoever is in our database leaves it, before it goes
-- from: 2012
ALTER DATABASE hopcost SET SINGLE_USER WITH ROLLBACK IMMEDIATE

-- name: drop_database
-- about: everything that hopcost has made
-- from: 2012
-- spoken: Babelfish 4.3
DROP DATABASE hopcost

-- name: drop_jobs
-- about: the tables of jobs, where the database stays
-- from: 2012
DECLARE @drop nvarchar(max) = N'';
SELECT @drop = @drop + N'DROP TABLE hopcost.dbo.' + QUOTENAME(name) + N';' FROM hopcost.sys.tables WHERE name LIKE N'job[_]%';
EXEC (@drop)
