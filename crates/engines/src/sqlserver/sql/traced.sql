-- about: calls and statements in a file of events, by session
-- from: 2012
SELECT session_id, SUM(CASE name WHEN N'rpc_completed' THEN 1 ELSE 0 END),
       SUM(CASE name WHEN N'sp_statement_completed' THEN 1 ELSE 0 END)
FROM (SELECT object_name AS name,
             CAST(event_data AS xml).value('(/event/action[@name="session_id"]/value)[1]', 'int') AS session_id
      FROM sys.fn_xe_file_target_read_file(N'{file}', NULL, NULL, NULL)
      WHERE object_name IN (N'rpc_completed', N'sp_statement_completed')) AS events
GROUP BY session_id
