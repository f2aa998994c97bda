-- about: what was set up to write events down
-- from: 2012
IF EXISTS (SELECT 1 FROM sys.server_event_sessions WHERE name = N'{name}') DROP EVENT SESSION {name} ON SERVER
