-- about: which statements are written there: all of our database
-- from: 2016
USE hopcost;
CREATE DATABASE AUDIT SPECIFICATION {name} FOR SERVER AUDIT {name}
ADD (SELECT, INSERT, UPDATE, DELETE, EXECUTE ON DATABASE::hopcost BY public) WITH (STATE = ON);
USE master
