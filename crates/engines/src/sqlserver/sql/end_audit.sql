-- about: no longer; what is on its way is written
-- from: 2016
USE master;
ALTER SERVER AUDIT {name} WITH (STATE = OFF)
