-- about: from here on statements are written to the audit's file
-- from: 2016
USE master;
ALTER SERVER AUDIT {name} WITH (STATE = ON)
