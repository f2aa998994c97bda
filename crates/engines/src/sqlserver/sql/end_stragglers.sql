-- about: sessions of a hopcost that is gone
-- from: 2012
-- spoken: Babelfish 4.3
SELECT session_id FROM sys.dm_exec_sessions WHERE program_name = 'hopcost' AND session_id <> @@SPID
