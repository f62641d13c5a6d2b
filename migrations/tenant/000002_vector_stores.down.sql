DROP TRIGGER deleted ON indexes;
