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
