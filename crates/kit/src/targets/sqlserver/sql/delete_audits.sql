-- about: the files that were written
-- from: 2019
EXEC master.sys.xp_delete_files N'{path}hopcost*.sqlaudit', N'{path}hopcost*.xel'
