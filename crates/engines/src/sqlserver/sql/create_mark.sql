-- about: the table by which it is known
-- from: 2012
-- spoken: Babelfish 4.3
USE hopcost;
CREATE TABLE made_by_hopcost (content varchar(8000) NOT NULL);
USE master
