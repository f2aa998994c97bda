-- about: the files of the audit
-- from: 2019
EXEC master.sys.xp_delete_files N'{path}{name}*.sqlaudit'
