-- about: the table by which it is known
-- from: 2012
-- spoken: Babelfish 4.3
CREATE TABLE made_by_hopcost (content varchar(400) NOT NULL)
