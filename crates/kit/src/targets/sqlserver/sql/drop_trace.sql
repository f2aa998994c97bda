-- about: what was set up to write events down
-- from: 2012
IF EXISTS (SELECT 1 FROM sys.server_event_sessions WHERE name = N'hopcost') DROP EVENT SESSION hopcost ON SERVER
