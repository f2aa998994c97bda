-- about: the files of events
-- from: 2019
EXEC master.sys.xp_delete_files N'{path}{name}*.xel'
