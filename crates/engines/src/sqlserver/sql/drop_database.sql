-- about: everything that hopcost has made
-- from: 2012
-- spoken: Babelfish 4.3
DROP DATABASE hopcost
