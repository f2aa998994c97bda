-- about: the file to which the audit writes since it was begun
-- from: 2016
SELECT audit_file_path FROM sys.dm_server_audit_status WHERE name = N'{name}'
