-- about: how much of what writes statements down is on
-- from: 2012
SELECT (SELECT COUNT(*) FROM sys.dm_server_audit_status WHERE name = N'{name}' AND status = 1)
     + (SELECT COUNT(*) FROM sys.dm_xe_sessions WHERE name = N'{name}')
