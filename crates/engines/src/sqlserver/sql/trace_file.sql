-- about: the file to which events are written since that was begun
-- from: 2012
SELECT CAST(t.target_data AS xml).value('(/EventFileTarget/File/@name)[1]', 'nvarchar(4000)')
FROM sys.dm_xe_sessions AS s JOIN sys.dm_xe_session_targets AS t ON t.event_session_address = s.address
WHERE s.name = N'{name}' AND t.target_name = N'event_file'
