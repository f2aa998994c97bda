-- about: the files of SQL Trace
-- from: 2019
EXEC master.sys.xp_delete_files N'{path}{name}*.trc'
