-- about: from here on SQL Trace writes calls of our database, and each statement in them, to a file
-- from: 2012
DECLARE @id int, @size bigint = 1000, @on bit = 1, @event int, @column int;
EXEC sys.sp_trace_create @id OUTPUT, 2, N'{path}{name}_{file}', @size;
DECLARE wanted CURSOR LOCAL FAST_FORWARD FOR
    SELECT e.id, c.id FROM (VALUES (10), (11), (44), (45)) AS e (id)
    CROSS JOIN (VALUES (1), (12), (13), (14), (16), (17), (18), (35)) AS c (id);
OPEN wanted;
FETCH NEXT FROM wanted INTO @event, @column;
WHILE @@FETCH_STATUS = 0
BEGIN
    EXEC sys.sp_trace_setevent @id, @event, @column, @on;
    FETCH NEXT FROM wanted INTO @event, @column;
END;
CLOSE wanted;
EXEC sys.sp_trace_setfilter @id, 35, 0, 0, N'hopcost';
EXEC sys.sp_trace_setstatus @id, 1
