-- about: the tables of jobs, where the database stays
-- from: 2012
DECLARE @drop nvarchar(max) = N'';
SELECT @drop = @drop + N'DROP TABLE hopcost.dbo.' + QUOTENAME(name) + N';' FROM hopcost.sys.tables WHERE name LIKE N'job[_]%';
EXEC (@drop)
